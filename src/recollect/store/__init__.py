"""Where is it kept?"""
